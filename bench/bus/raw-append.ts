import { jetstreamManager, StorageType } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import type { NatsConnectionImpl } from '@nats-io/nats-core/internal';
import { mintId } from '@switchyard/security';
import { connectHop, readSubject } from '../baselines/hop.ts';
import { drive } from './drive.ts';
import { EVENT, STREAM } from './event.ts';

// The minimal append with message ids: the same bytes, written in batches, and acknowledgements that are not parsed.
const TOGETHER = 64;
const INBOX = '_INBOX_raw.';

const connection = await connectHop();
const manager = await jetstreamManager(connection);
await manager.streams.add({ name: 'RAW', subjects: ['raw.event'], storage: StorageType.File, max_age: nanos(STREAM.maxAgeMs) });

const { socket } = (connection as NatsConnectionImpl).protocol.transport as unknown as { socket: NodeJS.WritableStream };
const event = EVENT.toString('latin1');
const waiting: (() => void)[] = [];
const free: number[] = [];
let text = '';
let count = 0;

function flush(): void {
  if (text !== '') socket.write(text, 'latin1');
  text = '';
  count = 0;
}

connection.subscribe(`${INBOX}*`, {
  callback(_error, message) {
    const at = Number(readSubject(message).slice(INBOX.length));
    free.push(at);
    waiting[at]?.();
  },
});
await connection.flush();

drive(
  () =>
    new Promise<void>((resolve) => {
      const at = free.pop() ?? waiting.length;
      waiting[at] = resolve;
      const head = `NATS/1.0\r\nNats-Msg-Id: ${mintId('evt')}\r\n\r\n`;
      text += `HPUB raw.event ${INBOX}${at} ${head.length} ${head.length + event.length}\r\n${head}${event}\r\n`;
      if (++count === 1) setImmediate(flush);
      if (count === TOGETHER) flush();
    }),
);
