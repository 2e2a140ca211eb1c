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
const WRAPPER_ROLES: ReadonlySet<string> = new Set(['generic', 'none', 'presentation', 'fragment', 'paragraph']);
/** Roles of words within a text. They are part of its line. */
const INLINE_ROLES: ReadonlySet<string> = new Set(
  'text strong emphasis code mark time term subscript superscript insertion deletion'.split(' '),
);
/** Text between links that has no words. */
const SEPARATOR = /^[\s.,;:|·•]*$/;
const STATES = ['checked', 'disabled', 'expanded', 'active', 'invalid', 'level', 'pressed', 'selected'] as const;
const MAX_NAME_CHARS = 256;

/**
 * Renders the snapshot as lines, indented by one space for each level: wrappers without a meaning are left out, texts of one block share a
 * line, and only targets have a reference.
 */
export function renderSnapshot(nodes: readonly (AriaNode | string)[], options: RenderOptions): RenderedSnapshot {
  const lines: string[] = [];
  const refs: Record<string, RenderedRef> = {};
  const seen = new Map<string, number>();
  let interactive = 0;
  let blocks = 0;
  /** The line that further text of the same block continues. */
  let open: { line: number; block: number } | undefined;

  function addText(text: string, indent: string, block: number): void {
    const words = oneLine(text);
    if (options.interactive === true || SEPARATOR.test(words)) return;
    if (open?.block === block && open.line === lines.length - 1) lines[open.line] += ` ${words}`;
    else open = { line: lines.push(`${indent}- ${words}`) - 1, block };
  }

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

  function visit(node: AriaNode | string, depth: number, { points: parentPoints, block: parentBlock }: VisitContext): void {
    if (options.maxDepth !== undefined && depth >= options.maxDepth) return;
    const indent = options.interactive === true ? '' : ' '.repeat(depth);
    if (typeof node === 'string') return addText(node, indent, parentBlock);
    const target = isTarget(node, parentPoints);
    const points = parentPoints || node.cursor === 'pointer';
    const children = node.children ?? [];
    const isInline = INLINE_ROLES.has(node.role) && (node.name ?? '') === '';
    const block = isInline && !target ? parentBlock : ++blocks;
    const isHidden = !target && (options.interactive === true || isInline || isWrapper(node, options.compact === true));
    if (isHidden) {
      addText(node.text ?? '', indent, block);
      for (const child of children) visit(child, depth, { points, block });
      return;
    }
    const value = options.passwords.has(node.ref ?? '') && node.text !== undefined ? '••••' : node.text;
    const ref = target ? ` [ref=${addRef(node)}]` : '';
    lines.push(
      `${indent}- ${node.role}${formatName(node.name)}${formatStates(node)}${ref}${formatLink(node, options)}${formatText(value, node.name)}`,
    );
    for (const child of children) visit(child, depth + 1, { points, block });
  }

  for (const node of nodes) visit(node, 0, { points: false, block: 0 });
  return { lines, refs, interactive };
}

/** What a node takes from its ancestors: whether one shows a pointer, and the block whose line its texts continue. */
interface VisitContext {
  points: boolean;
  block: number;
}

function isWrapper(node: AriaNode, compact: boolean): boolean {
  if (WRAPPER_ROLES.has(node.role)) return true;
  // The item of a list adds nothing to the one thing that it has.
  if (node.role === 'listitem' && (node.name ?? '') === '' && node.text === undefined && node.children?.length === 1) return true;
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
