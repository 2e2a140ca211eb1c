import { createServer, type AddressInfo } from 'node:net';

/** Returns a port that was free a moment ago, for servers that do not report the port they chose. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  return port;
}
