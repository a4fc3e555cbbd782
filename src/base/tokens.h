/*
 * tokens.h - estimates the number of tokens of a text, for budgets and for providers that report no
 * counts.
 *
 * It counts one token for every 6 characters of a word or number (rounded up), and two tokens for
 * every 3 other characters that are not white space. For English text and CUDA code, the estimate
 * is within about 15% of the count of common tokenizers.
 */
#ifndef BASE_TOKENS_H
#define BASE_TOKENS_H

#include <stddef.h>
#include <stdint.h>

uint64_t estimate_tokens(const char *text, size_t len);

#endif
