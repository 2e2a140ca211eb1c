/** Names of the patterns found in a response: redacted ones and ones that only raise a warning. */
export interface OutputFinding {
  redacted: readonly string[];
  warned: readonly string[];
}
