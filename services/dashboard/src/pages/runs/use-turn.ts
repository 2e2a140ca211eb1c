import { useQuery } from '@tanstack/react-query';
import { call } from '../../session/client.ts';
import { readTurnRows } from './turn-row.ts';

/** Every age: the service limits how long it keeps records. */
const EVER = '9999d';
/** A turn and its model calls have one trace id. */
const MAX_ROWS = 20;
/** A turn is recorded shortly after its end, without an event. */
const RECORDING_INTERVAL_MS = 1_000;
const MAX_READS = 30;

/** Reads the record of a turn. It is read again for a while until the turn is recorded; null if it is not recorded. */
export function useTurn(turnId: string) {
  return useQuery({
    queryKey: ['turn', turnId],
    queryFn: async ({ signal }) => {
      const found = await call('obs.trace.search', { traceId: turnId, since: EVER, limit: MAX_ROWS, includeSynthetic: true }, signal);
      return readTurnRows(found)[0] ?? null;
    },
    refetchInterval: ({ state: { data, dataUpdateCount } }) =>
      data === null && dataUpdateCount < MAX_READS ? RECORDING_INTERVAL_MS : false,
  });
}
