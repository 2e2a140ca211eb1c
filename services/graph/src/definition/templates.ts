/** `{{node.result}}` of a dependency, or `${NAME}` of an input. Anything else is text. */
const PLACEHOLDER = /\{\{\s*([A-Za-z0-9_-]{1,128})\.result\s*\}\}|\$\{([A-Za-z_][A-Za-z0-9_]{0,127})\}/g;

export interface TaskPlaceholders {
  nodes: string[];
  variables: string[];
}

/** Returns the nodes and the variables that a task names, each once. */
export function listPlaceholders(task: string): TaskPlaceholders {
  const found = [...task.matchAll(PLACEHOLDER)];
  const nodes = found.flatMap(([, nodeId]) => nodeId ?? []);
  const variables = found.flatMap(([, , name]) => name ?? []);
  return { nodes: [...new Set(nodes)], variables: [...new Set(variables)] };
}

export interface TemplateValues {
  /** Returns the output of a dependency; undefined without one. */
  getOutput: (nodeId: string) => string | undefined;
  inputs: Readonly<Record<string, string>>;
}

/**
 * Expands the placeholders of a task in one pass, so that placeholders in outputs and inputs stay text. A variable without a value stays
 * as it is.
 */
export function expandTask(task: string, { getOutput, inputs }: TemplateValues): string {
  return task.replaceAll(PLACEHOLDER, (placeholder, nodeId: string | undefined, name: string | undefined) => {
    if (nodeId !== undefined) return getOutput(nodeId) ?? `[the output of ${nodeId} is unavailable]`;
    return name !== undefined && Object.hasOwn(inputs, name) ? (inputs[name] ?? placeholder) : placeholder;
  });
}
