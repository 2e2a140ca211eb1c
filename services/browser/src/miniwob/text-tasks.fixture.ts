import type { TaskPage } from './task-page.fixture.ts';
import { extract, getPlainText, getPosition, getQuoted, listQuoted } from './words.fixture.ts';

const SUBMIT = { role: 'button', name: 'Submit' } as const;
const FIELD = { role: 'textbox' } as const;

async function enterAndSubmit({ enter, click }: TaskPage, text: string): Promise<void> {
  await enter(FIELD, text);
  await click(SUBMIT);
}

/** Copies the text of one field to another with the keys. */
async function copyText({ look, act, click }: TaskPage, from: number, to: number): Promise<void> {
  const fields = (await look()).list(FIELD);
  await act({ action: 'press', selector: fields[from], text: 'Control+a' });
  await act({ action: 'press', selector: fields[from], text: 'Control+c' });
  await act({ action: 'press', selector: fields[to], text: 'Control+v' });
  await click(SUBMIT);
}

async function copyFromLongField(page: TaskPage): Promise<void> {
  const view = await page.look();
  const from = view.list(FIELD).findIndex((ref) => view.getName(ref) !== '');
  await copyText(page, from, 1 - from);
}

async function enterTime(page: TaskPage): Promise<void> {
  const [, hours, minutes, half] = /Enter (\d+):(\d+) ([AP])M/i.exec(page.query.replaceAll('\u202F', ' ')) ?? [];
  const hour = (Number(hours) % 12) + (half?.toUpperCase() === 'P' ? 12 : 0);
  await enterAndSubmit(page, `${String(hour).padStart(2, '0')}:${minutes}`);
}

async function enterDate(page: TaskPage): Promise<void> {
  const [month, day, year] = extract(page.query, /Enter (.*?) as the date/).split('/');
  await enterAndSubmit(page, `${year}-${month}-${day}`);
}

async function findWord(page: TaskPage): Promise<void> {
  const words = getPlainText((await page.look('#area p')).text).split(/\s+/);
  await enterAndSubmit(page, (words[getPosition(page.query)] ?? '').replaceAll(/[^a-zA-Z]/g, ''));
}

async function enterLastWord({ look, enter, click }: TaskPage): Promise<void> {
  const view = await look();
  const words = extract(view.text, /textbox: (.*)/).split(' ');
  await enter({ ...FIELD, nth: 1 }, (words.at(-1) ?? '').replaceAll(/[^a-zA-Z]/g, ''));
  await click(SUBMIT);
}

async function logIn({ query, enter, click }: TaskPage): Promise<void> {
  const [user = '', password = ''] = listQuoted(query);
  await enter(FIELD, user);
  await enter({ ...FIELD, nth: 1 }, password);
  await click({ role: 'button', name: 'Login' });
}

/** Fills a form although a message interrupts it and turns its fields off. */
async function logInDespiteMessage({ query, look, tryAct, click, isDone }: TaskPage): Promise<void> {
  const values = listQuoted(query);
  const dismiss = async (): Promise<boolean> => {
    const cancel = (await look()).find({ role: 'button', name: 'Cancel' });
    return cancel !== undefined && tryAct({ action: 'click', selector: cancel });
  };
  while (!(await isDone())) {
    for (const [at, value] of values.entries()) {
      do {
        await tryAct({ action: 'fill', selector: (await look()).list(FIELD)[at], value });
      } while (await dismiss());
    }
    await click({ role: 'button', name: 'OK' });
  }
}

async function solveEquation(page: TaskPage): Promise<void> {
  const problem = getPlainText((await page.look('#math-problem')).text);
  const [, left = '', sign = '', right = '', result = ''] = /^(\S+) (\S) (\S+) = (\S*)$/.exec(`${problem} `.replace(/ +$/, ' ')) ?? [];
  const known = Number(left === 'x' ? right : left);
  if (result === '') {
    const [first, second] = [Number(left), Number(right)];
    return enterAndSubmit(page, String(sign === '+' ? first + second : sign === '-' ? first - second : first * second));
  }
  const value = sign === '+' ? Number(result) - known : left === 'x' ? Number(result) + known : known - Number(result);
  await enterAndSubmit(page, String(value));
}

async function guessNumber({ enter, click, look, isDone }: TaskPage): Promise<void> {
  let [low, high] = [0, 9];
  while (!(await isDone())) {
    const guess = Math.floor((low + high) / 2);
    await enter({ role: 'spinbutton' }, String(guess));
    await click(SUBMIT);
    const { text } = await look('#feedback');
    if (text.includes('higher')) low = guess + 1;
    else high = guess - 1;
  }
}

/** Deletes a file in a terminal, which reads the keys itself. */
async function useTerminal({ query, look, act }: TaskPage): Promise<void> {
  const run = (text: string): Promise<void> => act({ action: 'type', selector: '#terminal-target', text, submit: true });
  await run('ls');
  const lines = (await look('#terminal-contents')).text.split('\n').map((line) => getPlainText(line));
  const files = (lines[lines.findIndex((line) => line.endsWith('ls')) + 1] ?? '').split(' ');
  const extension = /extension \.(.*)$/.exec(query)?.[1];
  const file = files.find((name) => (extension === undefined ? !name.includes('.') : name.endsWith(`.${extension}`)));
  await run(`rm ${file}`);
}

export const TEXT_TASKS: Readonly<Record<string, (page: TaskPage) => Promise<void>>> = {
  'copy-paste': copyFromLongField,
  'copy-paste-2': (page) => copyText(page, getPosition(page.query), 3),
  'enter-date': enterDate,
  'enter-time': enterTime,
  'enter-password': async (page) => {
    await page.enter({ ...FIELD, nth: 1 }, getQuoted(page.query));
    await enterAndSubmit(page, getQuoted(page.query));
  },
  'enter-text': (page) => enterAndSubmit(page, getQuoted(page.query)),
  'enter-text-dynamic': (page) => enterAndSubmit(page, getQuoted(page.query)),
  'enter-text-2': (page) => {
    const text = getQuoted(page.query);
    return enterAndSubmit(page, page.query.includes('upper') ? text.toUpperCase() : text.toLowerCase());
  },
  'find-word': findWord,
  'focus-text': ({ click }) => click(FIELD),
  'focus-text-2': ({ query, click }) => click({ ...FIELD, nth: getPosition(query) }),
  'guess-number': guessNumber,
  'login-user': logIn,
  'login-user-popup': logInDespiteMessage,
  'scroll-text': enterLastWord,
  'simple-algebra': solveEquation,
  'simple-arithmetic': solveEquation,
  'text-transform': async (page) => enterAndSubmit(page, getPlainText((await page.look('#captcha')).text).replaceAll(' ', '')),
  terminal: useTerminal,
};
