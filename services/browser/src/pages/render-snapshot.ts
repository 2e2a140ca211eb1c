/** A node of Playwright's accessibility snapshot. */
export interface AriaNode {
  role: string;
  name?: string;
  text?: string;
  ref?: string;
  cursor?: string;
  url?: string;
  placeholder?: string;
  children?: (AriaNode | string)[];
  [state: string]: unknown;
}

export interface RenderOptions {
  interactive?: boolean | undefined;
  compact?: boolean | undefined;
  links?: boolean | undefined;
  maxDepth?: number | undefined;
  /** Refs of password fields, whose values are not shown. */
  passwords: ReadonlySet<string>;
  /** Returns our reference for one of Playwright's. */
  assignRef: (driverRef: string) => string;
}

export interface RenderedRef {
  role: string;
  name?: string;
  nth?: number;
}

export interface RenderedSnapshot {
  lines: string[];
  refs: Record<string, RenderedRef>;
  interactive: number;
}

/** Roles that an action can target. A node of another role is a target if it shows a pointer. */
const TARGET_ROLES: ReadonlySet<string> = new Set(
  'button checkbox combobox gridcell link listbox menuitem menuitemcheckbox menuitemradio option radio searchbox slider spinbutton switch tab textbox treeitem'.split(
    ' ',
  ),
);
/** Roles without a meaning of their own: only their content is shown. */
const WRAPPER_ROLES: ReadonlySet<string> = new Set(['generic', 'none', 'presentation', 'fragment']);
const STATES = ['checked', 'disabled', 'expanded', 'active', 'invalid', 'level', 'pressed', 'selected'] as const;
const MAX_NAME_CHARS = 256;

/** Renders the snapshot as lines: wrappers without a meaning are left out, and only targets have a reference. */
export function renderSnapshot(nodes: readonly (AriaNode | string)[], options: RenderOptions): RenderedSnapshot {
  const lines: string[] = [];
  const refs: Record<string, RenderedRef> = {};
  const seen = new Map<string, number>();
  let interactive = 0;

  function addRef(node: AriaNode): string {
    const ref = options.assignRef(node.ref ?? '');
    const name = (node.name ?? node.text ?? '').slice(0, MAX_NAME_CHARS);
    const key = `${node.role}\n${name}`;
    const nth = seen.get(key) ?? 0;
    seen.set(key, nth + 1);
    refs[ref] = { role: node.role.slice(0, MAX_NAME_CHARS), ...(name !== '' && { name }), ...(nth > 0 && { nth }) };
    interactive++;
    return ref;
  }

  function isTarget(node: AriaNode, parentPoints: boolean): boolean {
    if (node.ref === undefined) return false;
    return TARGET_ROLES.has(node.role) || (node.cursor === 'pointer' && !parentPoints);
  }

  function visit(node: AriaNode | string, depth: number, parentPoints: boolean): void {
    if (options.maxDepth !== undefined && depth >= options.maxDepth) return;
    const indent = options.interactive === true ? '' : '  '.repeat(depth);
    if (typeof node === 'string' || node.role === 'text') {
      const text = typeof node === 'string' ? node : (node.text ?? '');
      if (options.interactive !== true && text !== '') lines.push(`${indent}- ${oneLine(text)}`);
      return;
    }
    const target = isTarget(node, parentPoints);
    const points = parentPoints || node.cursor === 'pointer';
    const children = node.children ?? [];
    const isHidden = !target && (options.interactive === true || isWrapper(node, options.compact === true));
    if (isHidden) {
      if (node.text !== undefined && options.interactive !== true) lines.push(`${indent}- ${oneLine(node.text)}`);
      for (const child of children) visit(child, depth, points);
      return;
    }
    const value = options.passwords.has(node.ref ?? '') && node.text !== undefined ? '••••' : node.text;
    const ref = target ? ` [ref=${addRef(node)}]` : '';
    lines.push(
      `${indent}- ${node.role}${formatName(node.name)}${formatStates(node)}${ref}${formatLink(node, options)}${formatText(value, node.name)}`,
    );
    for (const child of children) visit(child, depth + 1, points);
  }

  for (const node of nodes) visit(node, 0, false);
  return { lines, refs, interactive };
}

function isWrapper(node: AriaNode, compact: boolean): boolean {
  if (WRAPPER_ROLES.has(node.role)) return true;
  return compact && (node.name ?? '') === '' && node.text === undefined;
}

function formatName(name: string | undefined): string {
  return name === undefined || name === '' ? '' : ` ${JSON.stringify(name)}`;
}

function formatStates(node: AriaNode): string {
  return STATES.map((state) => {
    const value = node[state];
    if (typeof value !== 'string' && typeof value !== 'number' && value !== true) return '';
    return value === true ? ` [${state}]` : ` [${state}=${String(value).slice(0, 40)}]`;
  }).join('');
}

function formatLink({ url }: AriaNode, { links }: RenderOptions): string {
  return links === true && url !== undefined ? ` <${oneLine(url).slice(0, 2_000)}>` : '';
}

function formatText(text: string | undefined, name: string | undefined): string {
  return text === undefined || text === '' || text === name ? '' : `: ${oneLine(text)}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
