import type { EventName } from '@switchyard/contracts';
import type { CallableName, CallParams } from '@switchyard/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { onEvents } from '../live/event-hub.ts';
import { call } from '../session/client.ts';

/** Calls a reading method, and calls it again when one of the events arrives or events were missed. */
export function useCall<N extends CallableName>(method: N, params: CallParams<N>, events: readonly EventName[] = []) {
  const cache = useQueryClient();
  const names = events.join(' ');
  useEffect(
    () =>
      onEvents((arrived) => {
        if (arrived === 'reset' || arrived.some(({ name }) => names.split(' ').includes(name)))
          void cache.invalidateQueries({ queryKey: [method] });
      }),
    [cache, method, names],
  );
  return useQuery({ queryKey: [method, params], queryFn: ({ signal }) => call(method, params, signal) });
}
