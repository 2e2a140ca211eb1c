import { connectHop, createPublish, readReply } from '../baselines/hop.ts';

const connection = await connectHop();
const publish = createPublish(connection);
connection.subscribe('bench.raw', {
  callback(_error, message) {
    publish(readReply(message), '', '{"value":"NAME"}');
  },
});
await connection.flush();
console.log('answering');
