import { connect } from '@nats-io/transport-node';
import { natsUrl, servePost, subjectName } from './http.ts';

// Written like the client's manual: a promise, a timer and a stack trace per request.
const connection = await connect({ servers: natsUrl() });

const subject = subjectName();

await servePost(({ id, params = {} }, reply) => {
  connection.request(subject, JSON.stringify(params), { timeout: 30_000 }).then(
    (message) => reply.send(JSON.stringify({ jsonrpc: '2.0', result: message.json(), id })),
    (error: unknown) => reply.code(500).send(String(error)),
  );
});
