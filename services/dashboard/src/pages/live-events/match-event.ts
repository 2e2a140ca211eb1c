import type { LiveEvent } from '../../live/event-hub.ts';

/** Payloads as text. A filter would write all of them again with each update otherwise. */
const texts = new WeakMap<LiveEvent, string>();

/** Whether the name or the payload of an event contains the filter. */
export function matchEvent(event: LiveEvent, filter: string): boolean {
  if (filter === '' || event.name.includes(filter)) return true;
  let text = texts.get(event);
  if (text === undefined) texts.set(event, (text = JSON.stringify(event.payload)));
  return text.includes(filter);
}
