import type { TaskPage } from './task-page.fixture.ts';
import { extract, getQuoted } from './words.fixture.ts';

const LABELS: Readonly<Record<string, string>> = { x: 'Close' };

async function clickNamedButton({ query, click }: TaskPage): Promise<void> {
  await click({ role: 'button', name: extract(query, /button (?:labeled )?(ONE|TWO)/) });
}

async function clickQuotedButton({ query, click }: TaskPage): Promise<void> {
  await click({ role: 'button', name: getQuoted(query) });
}

async function checkBoxes({ query, click }: TaskPage): Promise<void> {
  const names = extract(query, /Select (.*) and click Submit/);
  for (const name of names === 'nothing' ? [] : names.split(', ')) await click({ role: 'checkbox', name });
  await click({ role: 'button', name: 'Submit' });
}

async function expandAndSubmit({ click, look }: TaskPage): Promise<void> {
  await click({ role: 'tab' });
  while (!(await look()).text.includes('[expanded]')) await click({ role: 'tab' });
  await click({ role: 'button', name: 'Submit' });
}

/** Returns a selector of a word that is a link by its style alone. A snapshot shows such a word as text. */
const getStyledLink = (name: string): string => `#area .alink:visible:text-is(${JSON.stringify(name)}) >> nth=0`;

/** Opens tabs or sections one after another until one shows the link. */
async function findLink({ query, look, act, tryAct, isDone }: TaskPage): Promise<void> {
  const selector = getStyledLink(getQuoted(query));
  const count = (await look()).list({ role: 'tab' }).length;
  for (let at = -1; at < count; at++) {
    if (at >= 0) {
      await act({ action: 'click', selector: (await look()).list({ role: 'tab' })[at] });
      await act({ action: 'wait', timeMs: 600 }); // the section opens slowly
      if (await isDone()) return;
    }
    if (await tryAct({ action: 'click', selector })) return;
  }
}

async function clickTab({ query, click }: TaskPage): Promise<void> {
  await click({ role: 'tab', name: `Tab #${extract(query, /Tab #\s*(\d)/)}` });
}

async function clickWidget({ query, tryAct }: TaskPage): Promise<void> {
  const type = getQuoted(query);
  for (let at = 1; at <= 5; at++) {
    if (await tryAct({ action: 'click', selector: `#area .widget:nth-child(${at}) [data-type=${type}]` })) return;
  }
}

async function selectInMenu({ query, look, click, act }: TaskPage): Promise<void> {
  const path = extract(query, /Select (.*)/).split('>');
  for (const name of path.slice(0, -1)) {
    await act({ action: 'hover', selector: (await look()).find({ role: 'menuitem', name }) });
    await act({ action: 'wait', timeMs: 500 }); // the submenu opens slowly
  }
  await click({ role: 'menuitem', name: path.at(-1) ?? '' });
}

async function selectMenuItem({ query, click, look, act }: TaskPage): Promise<void> {
  await click({ role: 'button', name: 'Menu' });
  const name = getQuoted(query.replace('"Menu"', ''));
  if ((await look()).find({ role: 'menuitem', name }) === undefined) {
    await act({ action: 'hover', selector: (await look()).find({ role: 'menuitem', name: 'Playback' }) });
  }
  await click({ role: 'menuitem', name });
}

async function navigateTree({ query, look, act, tryAct, isDone }: TaskPage): Promise<void> {
  const name = getQuoted(query);
  const items = (prefix: string): string[] => Array.from({ length: 8 }, (_, at) => `${prefix} > li:nth-child(${at + 1})`);
  const open = async (item: string): Promise<void> => {
    if (!(await isDone())) await tryAct({ action: 'click', selector: `${item} > span.folder` });
  };
  for (const item of items('#tree')) await open(item);
  if (await isDone()) return;
  if (!(await look('#tree')).text.includes(name)) {
    for (const item of items('#tree').flatMap((folder) => items(`${folder} > ul`))) await open(item);
  }
  if (!(await isDone())) await act({ action: 'click', selector: `#tree span:text-is(${JSON.stringify(name)}) >> nth=0` });
}

async function clickCoordinate({ query, act }: TaskPage): Promise<void> {
  await act({ action: 'click', selector: `[id="${extract(query, /(\(\s*-?\d,\s*-?\d\s*\))/)}"]` });
}

export const CLICK_TASKS: Readonly<Record<string, (page: TaskPage) => Promise<void>>> = {
  'click-test': ({ click }) => click({ role: 'button', name: 'Click Me!' }),
  'click-test-2': clickNamedButton,
  'click-test-transfer': clickNamedButton,
  'click-button': clickQuotedButton,
  'unicode-test': clickQuotedButton,
  async 'click-button-sequence'({ click }) {
    await click({ role: 'button', name: 'ONE' });
    await click({ role: 'button', name: 'TWO' });
  },
  'click-link': ({ query, act }) => act({ action: 'click', selector: getStyledLink(getQuoted(query)) }),
  'click-checkboxes': checkBoxes,
  'click-checkboxes-large': checkBoxes,
  'click-checkboxes-transfer': checkBoxes,
  async 'click-option'({ query, click }) {
    await click({ role: 'radio', name: extract(query, /Select (.*) and click/) });
    await click({ role: 'button', name: 'Submit' });
  },
  'click-collapsible': expandAndSubmit,
  'click-collapsible-nodelay': expandAndSubmit,
  'click-collapsible-2': findLink,
  'click-collapsible-2-nodelay': findLink,
  'click-dialog': ({ click }) => click({ role: 'button', name: 'Close' }),
  'click-dialog-2': ({ query, click }) => click({ role: 'button', name: LABELS[getQuoted(query)] ?? getQuoted(query) }),
  'click-tab': clickTab,
  'click-tab-2': findLink,
  'click-tab-2-easy': findLink,
  'click-tab-2-medium': findLink,
  'click-tab-2-hard': findLink,
  'click-widget': clickWidget,
  'click-menu': selectInMenu,
  'click-menu-2': selectMenuItem,
  'navigate-tree': navigateTree,
  'grid-coordinate': clickCoordinate,
};
