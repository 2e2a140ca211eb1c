import type { TaskPage } from './task-page.fixture.ts';
import { extract, getPosition, getQuoted, listQuoted } from './words.fixture.ts';

const RESULTS_PER_PAGE = 3;
const PAGES = 5;
const CARDS = 3;
/** A field whose value differs from the accessible name. */
const FIELD = { role: 'textbox' } as const;

/** Returns the cells of a table with a name and a value in each row. */
async function readTable({ look }: TaskPage): Promise<Map<string, string>> {
  const cells = [...(await look('#tab')).text.matchAll(/cell "(.*?)"/g)].map(([, text = '']) => text);
  return new Map(cells.flatMap((cell, at) => (at % 2 === 0 ? [[cell, cells[at + 1] ?? ''] as const] : [])));
}

async function enterCell(page: TaskPage): Promise<void> {
  const table = await readTable(page);
  await page.enter(FIELD, table.get(extract(page.query, /value of (.*?) into/)) ?? '');
  await page.click({ role: 'button', name: 'Submit' });
}

async function enterCells(page: TaskPage): Promise<void> {
  const table = await readTable(page);
  const labels = [...(await page.look('#form')).text.matchAll(/- ([A-Z][\w ]*):/g)].map(([, label = '']) => label);
  for (const [nth, label] of labels.entries()) await page.enter({ ...FIELD, nth }, table.get(label) ?? '');
  await page.click({ role: 'button', name: 'Submit' });
}

async function findContact({ query, look, act, click }: TaskPage): Promise<void> {
  const [, name = '', property = ''] = /Find (.*?) in the contact book and click on their (\w+)/.exec(query) ?? [];
  for (let page = 1; page < PAGES && !(await look('#contact')).text.includes(`heading "${name}"`); page++) {
    await click({ role: 'link', name: '>' });
  }
  await act({ action: 'click', selector: `#contact a.${property}` });
}

async function orderFood({ query, look, act, click }: TaskPage): Promise<void> {
  const add = (name: string): Promise<void> => act({ action: 'click', selector: `[data-item*=${JSON.stringify(name.trim())}] .add` });
  if (query.includes('one of each')) {
    for (const name of extract(query, /item: (.*)/).split(', ')) await add(name);
  } else {
    const [, count, type = ''] = /Order (\d) items that are (\S+)/.exec(query) ?? [];
    const lines = (await look('#area')).text.split('\n');
    const image = lines.findIndex((line) => line.includes(`img "${type}"`));
    const name = lines.slice(0, image).findLast((line) => /^ *- [A-Z]/.test(line)) ?? '';
    for (let items = 0; items < Number(count); items++) await add(name.replace(/^ *- /, ''));
  }
  await click({ role: 'button', name: 'Order!' });
}

async function buyTicket({ query, look, act }: TaskPage): Promise<void> {
  const view = await look('#area');
  const durations = [...view.text.matchAll(/(\d+)h (\d+)m/g)].map(([, hours, minutes]) => Number(hours) * 60 + Number(minutes));
  const buttons = view.list({ role: 'button' });
  const prices = buttons.map((ref) => Number(extract(view.getName(ref), /\$(\d+)/)));
  const values = /duration/.test(query) ? durations : prices;
  const best = /longest|most/.test(query) ? Math.max(...values) : Math.min(...values);
  await act({ action: 'click', selector: buttons[values.indexOf(best)] });
}

async function searchAndClick({ query, look, enter, click, act }: TaskPage): Promise<void> {
  const position = getPosition(query);
  await enter(FIELD, getQuoted(query));
  await click({ role: 'button', name: 'Search' });
  const page = Math.floor(position / RESULTS_PER_PAGE) + 1;
  if (page > 1) await click({ role: 'link', name: String(page) });
  await act({ action: 'click', selector: (await look('#page-content')).list({ role: 'link' })[position % RESULTS_PER_PAGE] });
}

async function pickGreatest({ look, act, click }: TaskPage): Promise<void> {
  const values: number[] = [];
  const show = (card: number): Promise<void> => act({ action: 'click', selector: `#cardholder > div:nth-child(${card})` });
  for (let card = 1; card <= CARDS; card++) {
    await show(card);
    values.push(Number(extract((await look(`#cardholder > div:nth-child(${card})`)).text, /(\d+)/)));
  }
  await show(values.indexOf(Math.max(...values)) + 1);
  await click({ role: 'button', name: 'Submit' });
}

async function answerPost({ query, look, act }: TaskPage): Promise<void> {
  const user = extract(query, /user (@\S+?)\s*,/);
  const action = getQuoted(query);
  const users = [...(await look('#area')).text.matchAll(/(@[\w.]+) /g)].map(([, name]) => name);
  const post = `#area .media:nth-child(${users.indexOf(user) + 1})`;
  if (/^(?:Reply|Retweet|Like)$/.test(action)) return act({ action: 'click', selector: `${post} .${action.toLowerCase()}` });
  await act({ action: 'click', selector: `${post} .more` });
  const item = { Share: 'share', Copy: 'copy', Embed: 'embed', Mute: 'menu-user', Block: 'block-user', Report: 'report' };
  const name = item[action.split(' ', 1)[0] as keyof typeof item];
  await act({ action: 'click', selector: `${post} ul .${name}` });
}

async function handleEmail({ query, look, act, enter }: TaskPage): Promise<void> {
  const sender = extract(query, /email by (.*?) and/);
  const thread = (await look('#main')).find({ name: new RegExp(sender), role: /generic|listitem/ });
  const [reply] = listQuoted(query);
  await act({ action: 'click', selector: thread ?? `#main .email-thread:has(.email-sender:text-is("${sender}")) >> nth=0` });
  if (query.includes('trash')) return act({ action: 'click', selector: '#email .trash' });
  if (query.includes('star')) return act({ action: 'click', selector: '#email .star' });
  await act({ action: 'click', selector: reply === undefined ? '#email .email-forward' : '#email .email-reply' });
  if (reply !== undefined) await enter(FIELD, reply);
  else await enter(FIELD, extract(query, /email to (.*?)\.?$/));
  await act({ action: 'click', selector: reply === undefined ? '#send-forward' : '#send-reply' });
}

export const PAGE_TASKS: Readonly<Record<string, (page: TaskPage) => Promise<void>>> = {
  'read-table': enterCell,
  'read-table-2': enterCells,
  'phone-book': findContact,
  'order-food': orderFood,
  'buy-ticket': buyTicket,
  'search-engine': searchAndClick,
  'find-greatest': pickGreatest,
  'social-media': answerPost,
  'email-inbox': handleEmail,
  'email-inbox-noscroll': handleEmail,
  'email-inbox-delete': handleEmail,
  'email-inbox-important': handleEmail,
  'email-inbox-reply': handleEmail,
  'email-inbox-star-reply': handleEmail,
  'email-inbox-forward': handleEmail,
};
