import { connectHop, createRequest, splice } from './hop.ts';
import { subjectName, type Call } from './http.ts';
import { serveSockets } from './sockets.ts';

const request = createRequest(await connectHop());
const subject = subjectName();

serveSockets((message, send) => {
  const { id, params = {} } = JSON.parse(message.toString()) as Call;
  request(subject, JSON.stringify(params), (bytes) => send(splice(bytes, id)));
});
