import { connectHop, createRequest, splice } from './hop.ts';
import type { Call } from './http.ts';
import { serveSockets } from './sockets.ts';

const request = createRequest(await connectHop());

serveSockets((message, send) => {
  const { id, params = {} } = JSON.parse(message.toString()) as Call;
  request('bench.floor', JSON.stringify(params), (bytes) => send(splice(bytes, id)));
});
