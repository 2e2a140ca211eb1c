import type { EventName } from '@switchyard/contracts';
import type { CallableName, CallParams } from '@switchyard/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { onEvents } from '../live/event-hub.ts';
import { call } from '../session/client.ts';
import { throttle } from './throttle.ts';

/** A query is read again at most this often, although events may arrive a thousand times a second. */
const READ_INTERVAL_MS = 1_000;

/** Calls a reading method, and calls it again when one of the events arrives or events were missed. */
export function useCall<N extends CallableName>(method: N, params: CallParams<N>, events: readonly EventName[] = []) {
  useInvalidation([method], events);
  // Events that arrived while no page showed the query were not heard.
  const refetchOnMount = events.length > 0 ? 'always' : true;
  return useQuery({ queryKey: [method, params], queryFn: ({ signal }) => call(method, params, signal), refetchOnMount });
}

/** Reads the queries of a key again after one of the events, and after a gap in the stream. */
export function useInvalidation(queryKey: readonly string[], events: readonly EventName[]): void {
  const cache = useQueryClient();
  const names = events.join(' ');
  const key = queryKey.join(' ');
  useEffect(() => {
    const wanted = new Set<string>(names.split(' '));
    const invalidation = throttle(() => void cache.invalidateQueries({ queryKey: key.split(' ') }), READ_INTERVAL_MS);
    const unsubscribe = onEvents((arrived) => {
      if (arrived === 'reset' || arrived.some(({ name }) => wanted.has(name))) invalidation.call();
    });
    return () => {
      unsubscribe();
      invalidation.cancel();
    };
  }, [cache, key, names]);
}
