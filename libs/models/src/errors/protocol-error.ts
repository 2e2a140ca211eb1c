/** A response that violates the protocol. The message continues a sentence that starts with the provider's name. */
export class ProtocolError extends Error {
  override readonly name = 'NotTheProtocol';
}
