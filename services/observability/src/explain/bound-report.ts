import type { Result } from '@switchyard/contracts';

type Report = Result<'obs.explain'>;

/** Bytes of a summary. */
const MAX_SUMMARY_BYTES = 6_144;
/** Entries of each list in a summary. */
const MAX_ENTRIES = 10;
const MAX_TOOLS = 20;

const LISTS = ['waterfall', 'offloads', 'breakerTimeline', 'failures'] as const;

/** Shortens a report to about 6 KB and names everything that was dropped. */
export function boundReport(report: Report): Report {
  const bounded = { ...report, truncations: [...report.truncations] };
  for (const list of LISTS) shorten(bounded, list, MAX_ENTRIES);
  shortenTools(bounded);
  for (const list of LISTS)
    while (getBytes(bounded) > MAX_SUMMARY_BYTES && (bounded[list]?.length ?? 0) > 1)
      shorten(bounded, list, Math.floor((bounded[list]?.length ?? 0) / 2));
  return bounded;
}

function shorten(report: Report, field: (typeof LISTS)[number], max: number): void {
  const list = report[field];
  if (list === undefined || list.length <= max) return;
  Object.assign(report, { [field]: list.slice(0, max) });
  const earlier = report.truncations.find((one) => one.field === field);
  const before = earlier === undefined ? 0 : Number.parseInt(earlier.reason, 10);
  const reason = `${before + list.length - max} entries dropped; depth full returns them`;
  if (earlier === undefined) report.truncations.push({ field, reason });
  else earlier.reason = reason;
}

function shortenTools(report: Report): void {
  const tools = Object.entries(report.toolStats).toSorted(([a, x], [b, y]) => y.failed - x.failed || y.ok - x.ok || (a < b ? -1 : 1));
  if (tools.length <= MAX_TOOLS) return;
  report.toolStats = Object.fromEntries(tools.slice(0, MAX_TOOLS));
  report.truncations.push({ field: 'toolStats', reason: `${tools.length - MAX_TOOLS} entries dropped; depth full returns them` });
}

function getBytes(report: Report): number {
  return Buffer.byteLength(JSON.stringify(report));
}
