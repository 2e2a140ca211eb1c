/** The upstream answered, but not with what chat completions are; the message goes on from its name. */
export class NotTheProtocol extends Error {
  override readonly name = 'NotTheProtocol';
}
