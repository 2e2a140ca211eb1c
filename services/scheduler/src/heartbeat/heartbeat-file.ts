import type { Bus } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';

const HEARTBEAT_FILE = 'HEARTBEAT.md';
/** A trimmed line without a task: blank, a heading, a rule, or an empty list item. */
const EMPTY_LINE = /^(?:#{1,6}(?:\s.*)?|[-*_]*|[-*+]\s*\[[ xX]?\])$/;

/** How the file HEARTBEAT.md of an agent stands. `not_installed`: no workspace service has it. */
export type HeartbeatFile = 'tasks' | 'empty' | 'not_installed';

/** Reads HEARTBEAT.md of the agent that the bus acts as. A missing file is empty. */
export async function readHeartbeatFile(bus: Bus): Promise<HeartbeatFile> {
  try {
    const { content } = await bus.call('files.read', { path: HEARTBEAT_FILE });
    return hasTasks(content) ? 'tasks' : 'empty';
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code === 'NOT_FOUND') return 'empty';
    if (error.code === 'UNAVAILABLE' && error.details.reason === 'NO_RESPONDERS') return 'not_installed';
    throw error;
  }
}

/** Returns whether the file has more than headings, comments and blank lines. */
export function hasTasks(content: string): boolean {
  return removeComments(content)
    .split('\n')
    .some((line) => !EMPTY_LINE.test(line.trim()));
}

/** A comment without an end reaches to the end of the file. */
function removeComments(content: string): string {
  const [before = '', ...parts] = content.split('<!--');
  return before + parts.map((part) => part.split('-->').slice(1).join('-->')).join('');
}
