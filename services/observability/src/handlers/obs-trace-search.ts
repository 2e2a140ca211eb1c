import type { Handler } from '@switchyard/bus';
import { searchRecords, type SearchDeps } from '../trace/search-records.ts';

export function obsTraceSearch(deps: SearchDeps): Handler<'obs.trace.search'> {
  return async (params, { principal }) => ({ rows: await searchRecords(deps, principal, params) });
}
