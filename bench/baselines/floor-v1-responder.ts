import { Pool } from 'undici';
import { sendRequest, follow, isStreamed, upstreamUrl } from './completions.ts';
import { connectHop, createPublish, readReply } from './hop.ts';
import { subjectName } from './http.ts';

const upstream = new Pool(upstreamUrl(), { connections: 256 });
const connection = await connectHop();
const publish = createPublish(connection);
connection.subscribe(subjectName(), {
  queue: 'bench',
  callback(_error, message) {
    const reply = readReply(message);
    const body = message.string();
    // Each piece is a message; an empty message ends the stream.
    if (isStreamed(body))
      follow(
        upstream,
        body,
        (piece) => publish(reply, '', piece.toString()),
        () => publish(reply, '', ''),
      );
    else sendRequest(upstream, body, (answer) => publish(reply, '', answer));
  },
});
await connection.flush();
console.log('answering');
