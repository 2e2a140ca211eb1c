import { histogram, type Histogram } from '@switchyard/telemetry';

/** Records the duration of a request by its status. */
export type RecordDuration = (status: number, ms: number) => void;

const OTHER_METHOD = '_OTHER';
const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);
const NO_ROUTE = 'none';

/** Creates the recorder of one route. Requests without a route share one, so that clients cannot create label values. */
export function createDurationRecorder(verb: string, route: string | undefined): RecordDuration {
  const byStatus = new Map<number, Histogram>();
  const labels = { 'http.request.method': METHODS.has(verb) ? verb : OTHER_METHOD, 'http.route': route ?? NO_ROUTE };
  return (status, ms) => {
    let recorder = byStatus.get(status);
    if (recorder === undefined) {
      recorder = histogram('http.server.request.duration', { ...labels, 'http.response.status_code': String(status) });
      byStatus.set(status, recorder);
    }
    recorder.record(ms / 1_000);
  };
}
