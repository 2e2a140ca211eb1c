import { Pool } from 'undici';
import { ask, upstreamUrl } from './completions.ts';
import { connectHop, createPublish, replyOf } from './hop.ts';
import { subjectName } from './http.ts';

const upstream = new Pool(upstreamUrl(), { connections: 256 });
const connection = await connectHop();
const publish = createPublish(connection);
connection.subscribe(subjectName(), {
  queue: 'bench',
  callback(_error, message) {
    const reply = replyOf(message);
    ask(upstream, message.string(), (answer) => publish(reply, '', answer));
  },
});
await connection.flush();
console.log('answering');
