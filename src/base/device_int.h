/*
 * device_int.h - the integer types, for files that NVRTC also compiles. NVRTC has no <stdint.h>.
 */
#ifndef BASE_DEVICE_INT_H
#define BASE_DEVICE_INT_H

#ifdef __CUDACC_RTC__
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned int uint32_t;
typedef unsigned short uint16_t;
typedef unsigned char uint8_t;
typedef int int32_t;
typedef signed char int8_t;
typedef short int16_t;
#else
#include <stdint.h>
#endif

#endif
