/* NVRTC has printf built in. */
#pragma once
#include <stddef.h>
