import { connect } from '@nats-io/transport-node';
import { natsUrl, subjectName } from './http.ts';
import { statusJson } from './status.ts';

const connection = await connect({ servers: natsUrl() });
connection.subscribe(subjectName(), {
  queue: 'bench',
  callback(error, message) {
    if (error) throw error;
    message.json();
    message.respond(statusJson());
  },
});
await connection.flush();
console.log('answering');
