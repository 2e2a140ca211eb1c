import { readTestEvent, type NodeTestEvent } from './test-event.ts';

/** A reporter for Node's test runner that writes each result as a line of JSON. The runner requires a default export. */
export default async function* eventReporter(events: AsyncIterable<NodeTestEvent>): AsyncGenerator<string, void, void> {
  for await (const event of events) {
    const result = readTestEvent(event);
    if (result !== undefined) yield `${JSON.stringify(result)}\n`;
  }
}
