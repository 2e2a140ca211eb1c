import type { StyledTarget } from '../sessions/styled-targets.ts';
import type { AriaNode } from './render-snapshot.ts';

interface RunPlace {
  isInChildFrame: boolean;
  /** Whether the text is part of a target of the driver. */
  points: boolean;
}

interface Run extends RunPlace {
  pieces: (AriaNode | string)[];
}

/**
 * Returns the tree with a node for each target, in the text that it is part of. A target whose text is not found, for example because it is
 * the name of a node, is added at the end.
 */
export function placeStyledTargets(nodes: readonly (AriaNode | string)[], targets: readonly StyledTarget[]): (AriaNode | string)[] {
  if (targets.length === 0) return [...nodes];
  const runs: Run[] = [];
  const copies = nodes.map((node) => copyWithRuns(node, runs, { isInChildFrame: false, points: false }));
  const rest: AriaNode[] = [];
  const cursors = { main: 0, child: 0 };
  for (const target of targets) {
    const frame = target.isInChildFrame ? 'child' : 'main';
    const at = runs.findIndex(
      (run, index) => index >= cursors[frame] && run.isInChildFrame === target.isInChildFrame && split(run, target),
    );
    // The text of a target of the driver stays as it is.
    if (at >= 0) cursors[frame] = runs[at]?.points === true ? at + 1 : at;
    else rest.push(toNode(target));
  }
  return [...copies.flatMap((copy) => copy()), ...rest];
}

/** Copies a node. The copy is made when all targets have their place. */
function copyWithRuns(node: AriaNode | string, runs: Run[], place: RunPlace): () => (AriaNode | string)[] {
  if (typeof node === 'string') {
    const run: Run = { pieces: [node], ...place };
    runs.push(run);
    return () => run.pieces;
  }
  const isTextField = node.role === 'textbox';
  const inner: RunPlace = {
    isInChildFrame: place.isInChildFrame || node.role === 'iframe',
    points: place.points || (node.cursor === 'pointer' && node.ref !== undefined),
  };
  const text = node.text !== undefined && !isTextField ? copyWithRuns(node.text, runs, inner) : undefined;
  const children = (node.children ?? []).map((child) => copyWithRuns(child, runs, inner));
  return () => {
    const pieces = text?.() ?? [];
    const { text: whole, ...others } = node;
    const isSplit = pieces.length > 1 || typeof pieces[0] === 'object';
    const all = [...(isSplit ? pieces : []), ...children.flatMap((child) => child())];
    return [{ ...others, ...(whole !== undefined && !isSplit && { text: whole }), ...(all.length > 0 && { children: all }) }];
  };
}

/** Splits the text of a run at a target. Returns false if the run does not have its text. */
function split(run: Run, target: StyledTarget): boolean {
  const text = oneLine(target.text);
  const context = oneLine(target.before + target.text);
  for (const [index, piece] of run.pieces.entries()) {
    if (typeof piece !== 'string') continue;
    const line = oneLine(piece);
    const at = line.includes(context) ? line.indexOf(context) + context.length - text.length : line.indexOf(text);
    if (at < 0) continue;
    if (run.points) return true;
    const around = [line.slice(0, at), toNode(target), line.slice(at + text.length)];
    run.pieces.splice(index, 1, ...around.filter((part) => part !== ''));
    return true;
  }
  return false;
}

const toNode = ({ ref, text }: StyledTarget): AriaNode => ({ role: 'generic', ref, cursor: 'pointer', text: oneLine(text) });

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
