/* printf is built in. */
#pragma once
#include <stddef.h>
