import { createHash } from 'node:crypto';
import { REDACTION_POLICY, type Result, type TurnRecording } from '@switchyard/contracts';
import { scrubTexts } from '@switchyard/telemetry';
import type { DiagnosticDocument, RecordDocument } from '../documents/collections.ts';

/** Characters of one file. */
const MAX_FILE_CHARS = 8_388_608;

type Bundle = Result<'obs.bundle'>;

export interface BundleSources {
  report: Result<'obs.explain'>;
  /** Rows of the session, oldest first. */
  records: readonly RecordDocument[];
  /** Diagnostic events of the session, oldest first. */
  diagnostics: readonly DiagnosticDocument[];
  /** Undefined if the texts of the turn are not kept any more. */
  recording: TurnRecording | undefined;
  truncations: Bundle['truncations'];
  now: number;
}

/** Builds the files of a bundle. All are redacted, whatever they were redacted before. */
export function buildBundle({ report, records, diagnostics, recording, truncations, now }: BundleSources): Bundle {
  const rows = records.map((record) => withoutEvidence(record));
  const contents: Record<string, string> = {
    'events.jsonl': toLines([
      ...rows.map((row) => ({ type: row.event, ...row })),
      ...diagnostics.map((event) => ({ type: event.eventType, ...event })),
    ]),
    'session-branch.jsonl': recording ? toLines(listMessages(recording)) : '',
    'metadata.json': toJson({
      sessionKey: report.sessionKey,
      traceId: report.traceId,
      agentId: report.agentId,
      channel: report.channel,
      outcome: rows.at(-1) ?? {},
    }),
    'artifacts.json': toJson(report),
    'prompts.jsonl': toLines(records.flatMap(({ traceId, at, evidence }) => (evidence === undefined ? [] : [{ traceId, at, evidence }]))),
    'system-prompt.txt': scrubTexts(recording?.system ?? ''),
    'tools.json': toJson(recording?.tools ?? []),
    'recording.json': recording ? toJson(recording) : '',
  };
  const cut: Bundle['truncations'] = [...truncations];
  const files = Object.entries(contents).map(([name, content]) => {
    if (content.length > MAX_FILE_CHARS) cut.push({ field: name, reason: `only the first ${MAX_FILE_CHARS} characters are included` });
    return toFile(name, content.slice(0, MAX_FILE_CHARS).toWellFormed());
  });
  const manifest = {
    schema: 'switchyard-incident-bundle',
    schemaVersion: 1,
    createdAt: new Date(now).toISOString(),
    redaction: REDACTION_POLICY,
    files: files.map(({ name, sha256, content }) => ({ name, sha256, bytes: Buffer.byteLength(content) })),
    truncations: cut,
  };
  return {
    sessionKey: report.sessionKey,
    traceId: recording?.turnId ?? null,
    redaction: REDACTION_POLICY,
    files: [toFile('manifest.json', JSON.stringify(manifest, undefined, 2)), ...files],
    truncations: cut,
  };
}

/** The evidence of turns has a file of its own. */
function withoutEvidence(record: RecordDocument): Omit<RecordDocument, 'evidence'> {
  const row = { ...record };
  delete row.evidence;
  return row;
}

/** Returns the messages of the turn in the order of the conversation. */
function listMessages({ message, steps, answer }: TurnRecording): object[] {
  return [
    { role: 'user', text: message },
    ...steps.flatMap(({ text, calls, results }) => [
      { role: 'assistant', text, calls },
      ...results.map((result, at) => ({ role: 'tool', name: calls[at]?.name, ...result })),
    ]),
    ...(answer === undefined ? [] : [{ role: 'assistant', text: answer }]),
  ];
}

function toLines(values: readonly object[]): string {
  return values.map((value) => `${JSON.stringify(scrubTexts(value))}\n`).join('');
}

function toJson(value: unknown): string {
  return `${JSON.stringify(scrubTexts(value), undefined, 2)}\n`;
}

function toFile(name: string, content: string): Bundle['files'][number] {
  return { name, content, sha256: createHash('sha256').update(content).digest('hex') };
}
