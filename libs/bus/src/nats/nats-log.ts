import { type JetStreamManager } from '@nats-io/jetstream';
import { listStreams, type LogDefinition } from '@switchyard/contracts';
import { decodeJson, encodeJson } from '../wire/encoding.ts';
import { busUnreachableError } from '../wire/errors.ts';
import { formatHeaders, addHeaders, type HeaderLines } from '../wire/headers.ts';
import { assertSingleStream, type Log, type LogEntry, type Message, type Outgoing } from '../wire/transport.ts';
import { requestMany, type NatsRequester } from './nats-request.ts';
import { mapNatsErrors } from './nats-errors.ts';
import { ensureStreams, MAX_BYTES } from './nats-streams.ts';

const READ_BATCH = 500;
/** Overhead that JetStream counts for a message besides its subject, headers and data. */
const MESSAGE_BYTES = 16;

export interface NatsLogs extends NatsRequester {
  manager: JetStreamManager;
}

export function openLog(logs: NatsLogs, definition: LogDefinition): Log {
  const streams = listStreams(definition);
  return {
    maxBytes: MAX_BYTES[definition.storage],
    messageBytes: MESSAGE_BYTES,
    async append(message, id) {
      const sent = id === undefined ? message : { ...message, headers: withId(message, id) };
      const ack = await requestAck(logs, sent);
      if (ack !== 'nobody') return ack;
      await ensureStreams(logs.manager, definition);
      const second = await requestAck(logs, sent);
      if (second === 'nobody') throw busUnreachableError();
      return second;
    },
    async page(subject, fromSeq, max) {
      assertSingleStream(definition, fromSeq);
      const page = await readBatch(logs, definition.name, { seq: Math.max(fromSeq, 1), next_by_subj: subject, batch: max });
      if (page === undefined) throw busUnreachableError();
      return page.entries;
    },
    async position() {
      assertSingleStream(definition, 1);
      const { created, state } = await mapNatsErrors(() => logs.manager.streams.info(definition.name));
      // An empty stream has no first message, and a new one reports 0.
      const firstSeq = state.messages === 0 ? state.last_seq + 1 : state.first_seq;
      return { name: created.replaceAll(/\W/g, '').toLowerCase(), firstSeq, seq: state.last_seq };
    },
    async read(subject, fromSeq) {
      assertSingleStream(definition, fromSeq);
      // A moved part leaves its older messages behind, so all streams are read. A missing stream responds immediately.
      const held = await Promise.all(streams.map((stream) => readStream(logs, stream, { seq: fromSeq ?? 1, next_by_subj: subject })));
      if (held.every((entries) => entries === undefined)) throw busUnreachableError();
      return held.flatMap((entries) => entries ?? []);
    },
  };
}

interface From {
  seq: number;
  next_by_subj: string;
  batch?: number;
}

/** Returns undefined if the stream does not exist. */
async function readStream(logs: NatsLogs, stream: string, from: From): Promise<LogEntry[] | undefined> {
  const entries: LogEntry[] = [];
  for (let seq = Math.max(from.seq, 1); ;) {
    const batch = await readBatch(logs, stream, { ...from, seq });
    if (batch === undefined) return undefined;
    entries.push(...batch.entries);
    if (!batch.more) return entries;
    seq = (batch.entries.at(-1)?.seq ?? seq) + 1;
  }
}

function withId({ headers }: Outgoing, id: string): HeaderLines {
  return addHeaders(headers, formatHeaders(['Nats-Msg-Id', id]));
}

type Ack = { seq: number; duplicate: boolean };

async function requestAck(logs: NatsLogs, message: Outgoing): Promise<Ack | 'nobody'> {
  const [answer] = await requestMany(logs, message, () => true);
  if (answer === undefined || answer.status === 503) return 'nobody';
  const ack = decodeJson(answer.data) as { seq?: number; duplicate?: boolean; error?: { description: string } };
  if (ack.seq === undefined) throw busUnreachableError(new Error(ack.error?.description ?? 'not an acknowledgement'));
  return { seq: ack.seq, duplicate: ack.duplicate ?? false };
}

/** Reads a batch by direct get, because a consumer would have to be created and removed. */
async function readBatch(logs: NatsLogs, stream: string, from: From): Promise<{ entries: LogEntry[]; more: boolean } | undefined> {
  const query = { subject: `$JS.API.DIRECT.GET.${stream}`, data: encodeJson({ batch: READ_BATCH, ...from }) };
  const answers = await requestMany(logs, query, ({ status }) => status !== undefined);
  const end = answers.pop();
  if (end?.status === 503) return undefined;
  return { entries: answers.map(readEntry), more: Number(answers.at(-1)?.header('Nats-Num-Pending') ?? 0) > 0 };
}

function readEntry(answer: Message): LogEntry {
  return {
    seq: Number(answer.header('Nats-Sequence')),
    subject: answer.header('Nats-Subject') ?? '',
    data: new Uint8Array(answer.data),
    header: (name) => answer.header(name),
    get at() {
      return Date.parse(answer.header('Nats-Time-Stamp') ?? '');
    },
  };
}
