import { connectHop, createRequest, splice } from './hop.ts';
import { servePost, subjectName } from './http.ts';

// The minimal gateway in front of NATS: no authentication, validation, ids, deadlines or errors.
const request = createRequest(await connectHop());

const subject = subjectName();

await servePost(({ id, params = {} }, reply) => {
  request(subject, JSON.stringify(params), (bytes) => reply.send(splice(bytes, id)));
});
