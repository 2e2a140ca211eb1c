import { connectHop, createPublish, readReply } from './hop.ts';
import { subjectName } from './http.ts';
import { statusJson } from './status.ts';

const connection = await connectHop();
const publish = createPublish(connection);
connection.subscribe(subjectName(), {
  queue: 'bench',
  callback(_error, message) {
    JSON.parse(message.string());
    publish(readReply(message), '', statusJson());
  },
});
await connection.flush();
console.log('answering');
