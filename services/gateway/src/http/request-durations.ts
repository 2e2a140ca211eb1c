import { histogram, type Histogram } from '@switchyard/telemetry';

/** Notes how long a request took that ended with a status. */
export type NoteDuration = (status: number, ms: number) => void;

const OTHER_VERB = '_OTHER';
const VERBS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);
const NO_ROUTE = 'none';

/** Those of one route. There are as many routes as are registered; whatever was asked for besides has none. */
export function durationsOf(verb: string, route: string | undefined): NoteDuration {
  const byStatus = new Map<number, Histogram>();
  const labels = { 'http.request.method': VERBS.has(verb) ? verb : OTHER_VERB, 'http.route': route ?? NO_ROUTE };
  return (status, ms) => {
    let known = byStatus.get(status);
    if (known === undefined) {
      known = histogram('http.server.request.duration', { ...labels, 'http.response.status_code': String(status) });
      byStatus.set(status, known);
    }
    known.record(ms / 1_000);
  };
}
