import { eventServices } from '@switchyard/contracts';
import { EventSource } from 'eventsource';
import type { ChaosCluster } from '../cluster.ts';
import type { History, StreamEvent, Trying } from '../history.ts';

const AGAIN_MS = 500;
export const RESET = 'stream:reset';

export interface ListenerOptions {
  cluster: Pick<ChaosCluster, 'url' | 'token'>;
  history: History;
  name: string;
}

/** A listener to tenant events with an EventSource. */
export interface Listener {
  /** Ends the listener when it has received this event or a later one, or after the timeout. */
  finish(last: string | undefined, patienceMs: number): Promise<void>;
}

/** Listens from now on. Replaces an EventSource that gives up by one that resumes at its position. */
export function startListener({ cluster: { url, token }, history, name }: ListenerOptions): Listener {
  let last: string | undefined;
  let receivedMessage = Promise.withResolvers<void>();
  let end = (): void => undefined;

  function onMessage(trying: Trying<'listen'>, event: string, { lastEventId, data }: MessageEvent): void {
    last = lastEventId;
    const { from, to } = event === RESET ? (JSON.parse(String(data)) as Pick<StreamEvent, 'from' | 'to'>) : {};
    trying.heard({ id: lastEventId, name: event, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) });
    receivedMessage.resolve();
    receivedMessage = Promise.withResolvers();
  }

  function open(): void {
    const trying = history.begin(name, 'listen', last === undefined ? {} : { after: last });
    const query = new URLSearchParams({ token, ...(last === undefined ? {} : { lastEventId: last }) });
    const source = new EventSource(`${url}/api/events?${query.toString()}`);
    for (const event of [...eventServices.keys(), RESET]) source.addEventListener(event, (message) => onMessage(trying, event, message));
    source.addEventListener('error', ({ code, message }) => {
      if (source.readyState !== EventSource.CLOSED) return;
      trying.failed({ code: 'STOPPED', reason: `${code ?? ''} ${message ?? ''}`.trim() });
      const again = setTimeout(open, AGAIN_MS);
      end = () => clearTimeout(again);
    });
    end = () => {
      source.close();
      trying.ok({});
    };
  }

  open();
  return {
    async finish(expected, patienceMs) {
      const late = new Promise<'late'>((resolve) => void setTimeout(resolve, patienceMs, 'late').unref());
      while (expected !== undefined && !isAtOrAfter(last, expected))
        if ((await Promise.race([receivedMessage.promise, late])) === 'late') break;
      end();
    },
  };
}

/** A position: the log and the sequence number. */
export function getPlace(id: string): { log: string; seq: number } {
  const [log = '', seq = ''] = id.split('-');
  return { log, seq: Number(seq) };
}

function isAtOrAfter(id: string | undefined, wanted: string): boolean {
  const [here, there] = [getPlace(id ?? ''), getPlace(wanted)];
  return here.log === there.log && here.seq >= there.seq;
}
