/**
 * How Node runs a process of the product, whoever starts it.
 * - Half of Node's young generation keeps ten thousand idle connections within 200 MiB, at no cost that could be measured.
 * - V8 lets a heap grow to four times what is in use before it looks for what is garbage. Twice is enough here; what less would gain
 *   in memory is paid for by turns (docs/reliability.md).
 * - A process may ask for one collection: after its start, for what that left behind.
 */
export const SERVER_FLAGS: readonly string[] = [
  '--max-semi-space-size=16',
  '--heap-growing-percent=100',
  '--expose-gc',
  '--disable-warning=ExperimentalWarning',
];
