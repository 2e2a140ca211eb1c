/** The response of the development model `dev/echo`. */
export function echo(message: string): string {
  return `I am dev/echo, the development model. You said: ${message}`;
}
