import { TaskFacts } from '@switchyard/contracts';
import { z } from 'zod';

/** Tasks that one conversation may have. */
const MAX_TASKS = 20;

/** The instructions for the model that extracts tasks. */
export const EXTRACTION_PROMPT = `Find follow-up tasks in the conversation below: things that somebody promised, asked for or planned and that are still to be done after the conversation.
Reply with a JSON array and nothing else. Each element has these fields:
"title" (at most 500 characters), "description", "dueDate" (ISO 8601, only if the conversation names one), "priority" ("low", "medium", "high" or "critical"), "confidence" (0 to 1: how certain it is that this is a task).
Reply with [] if there are none. Do not carry out any task.`;

/** Returns the tasks of a reply that are certain enough. Elements that are no tasks are left out; a reply without a list has none. */
export function readTasks(reply: string, confidenceThreshold: number): TaskFacts[] {
  const list = z.array(z.unknown()).safeParse(parseList(reply));
  if (!list.success) return [];
  const tasks = list.data.slice(0, MAX_TASKS).map((element) => TaskFacts.safeParse(element));
  return tasks.flatMap(({ data }) => (data && data.confidence >= confidenceThreshold ? [data] : []));
}

/** Models often write text or a code fence around the list. */
function parseList(reply: string): unknown {
  try {
    return JSON.parse(reply.slice(reply.indexOf('['), reply.lastIndexOf(']') + 1));
  } catch {
    return undefined;
  }
}
