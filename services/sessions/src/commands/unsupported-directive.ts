/** What somebody is told of a directive that changes nothing. */
export function notInForce(name: string): string {
  return `/${name} is not in force: no model here is told of it yet.`;
}
