/** Names of what was found in an answer: what was taken out of it, and what is only warned of. */
export interface OutputFinding {
  redacted: readonly string[];
  warned: readonly string[];
}
