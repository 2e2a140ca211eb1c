/** What the development model of ours says. */
export function echo(message: string): string {
  return `I am dev/echo, the development model. You said: ${message}`;
}
