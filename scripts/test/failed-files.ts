/** What the runner of Node tells its reporters, so far as it is read here. */
export interface TestEvent {
  type: string;
  data: { file?: string | undefined; todo?: string | boolean | undefined };
}

/** A reporter for `node --test` that writes the path of each file with a failure, a line each. The runner takes a default export alone. */
export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string, void, void> {
  const named = new Set<string>();
  for await (const { type, data } of events) {
    const { file, todo } = data;
    if (type !== 'test:fail' || file === undefined || todo || named.has(file)) continue;
    named.add(file);
    yield `${file}\n`;
  }
}
