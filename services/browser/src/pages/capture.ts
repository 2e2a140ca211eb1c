import { ServiceError, type Params, type Result } from '@switchyard/contracts';
import type { Tab } from '../sessions/tab.ts';
import { describeFailure, isClosed, isTimeout, PageUnresponsive, withDeadline } from '../sessions/deadline.ts';

const MAX_IMAGE_BYTES = 5_242_880;
const MAX_PDF_BYTES = 20_971_520;
/** Limit of the bytes of one result, before base64. */
const MAX_RESULT_BYTES = 6_291_456;

export interface CaptureOptions {
  params: Params<'browser.screenshot'>;
  maxSide: number;
  quality: number;
  timeoutMs: number;
}

/** Takes an image of the viewport, the page or one element, at most `maxSide` pixels wide and high. */
export async function takeScreenshot(
  tab: Tab,
  { params, maxSide, quality, timeoutMs }: CaptureOptions,
): Promise<Result<'browser.screenshot'>> {
  const { page } = tab;
  const clip = await measure(tab, params, { maxSide, timeoutMs });
  const { width, height } = page.viewportSize() ?? { width: 0, height: 0 };
  const isViewport = params.selector === undefined && params.fullPage !== true && clip.width === width && clip.height === height;
  const take = (type: 'png' | 'jpeg') =>
    page.screenshot({
      type,
      ...(isViewport ? {} : { clip, fullPage: true }),
      timeout: timeoutMs,
      ...(type === 'jpeg' && { quality: params.quality ?? quality }),
    });
  try {
    let type = params.type ?? 'png';
    let image = await withDeadline(take(type), timeoutMs + 1_000);
    if (image.length > MAX_IMAGE_BYTES && type === 'png') image = await withDeadline(take((type = 'jpeg')), timeoutMs + 1_000);
    if (image.length > MAX_IMAGE_BYTES) throw tooLarge('image', image.length, MAX_IMAGE_BYTES);
    return { data: image.toString('base64'), mimeType: `image/${type}`, width: clip.width, height: clip.height };
  } catch (error) {
    throw isTimeout(error) ? new PageUnresponsive() : error;
  }
}

interface Clip {
  x: number;
  y: number;
  width: number;
  height: number;
}

async function measure(
  tab: Tab,
  { selector, fullPage }: Params<'browser.screenshot'>,
  limits: { maxSide: number; timeoutMs: number },
): Promise<Clip> {
  const { page } = tab;
  const { maxSide, timeoutMs } = limits;
  const read = async (): Promise<Clip> => {
    if (selector === undefined) {
      const script = fullPage === true ? FULL_PAGE : VIEWPORT;
      return (await page.evaluate(script)) as Clip;
    }
    const locator = await tab.refs.locate(page, selector);
    return locator.evaluate(measureElement as unknown as (element: unknown) => Clip, undefined, { timeout: timeoutMs });
  };
  try {
    const { x, y, width, height } = await withDeadline(read(), timeoutMs);
    if (width === 0 || height === 0) throw new ServiceError('FAILED_PRECONDITION', `${selector ?? 'The page'} has no visible area.`);
    return { x, y, width: Math.min(Math.ceil(width), maxSide), height: Math.min(Math.ceil(height), maxSide) };
  } catch (error) {
    if (error instanceof ServiceError || error instanceof PageUnresponsive || isClosed(error)) throw error;
    if (selector === undefined) throw error;
    throw new ServiceError('FAILED_PRECONDITION', `selector: ${describeFailure(error)}. Take a new snapshot.`);
  }
}

const VIEWPORT = '({ x: scrollX, y: scrollY, width: innerWidth, height: innerHeight })';
const FULL_PAGE =
  '({ x: 0, y: 0, width: Math.max(document.documentElement.scrollWidth, innerWidth), height: Math.max(document.documentElement.scrollHeight, innerHeight) })';

interface PageElement {
  getBoundingClientRect(): Clip & { left: number; top: number };
}

/** Runs in the page. */
function measureElement(element: PageElement): Clip {
  const { scrollX, scrollY } = globalThis as unknown as { scrollX: number; scrollY: number };
  const { left, top, width, height } = element.getBoundingClientRect();
  return { x: left + scrollX, y: top + scrollY, width, height };
}

/** Prints the page. */
export async function printPdf({ page }: Tab, timeoutMs: number): Promise<Result<'browser.pdf'>> {
  const pdf = await withDeadline(page.pdf({ printBackground: true }), timeoutMs);
  const most = Math.min(MAX_PDF_BYTES, MAX_RESULT_BYTES);
  if (pdf.length > most) throw tooLarge('PDF', pdf.length, most);
  return { data: pdf.toString('base64'), mimeType: 'application/pdf' };
}

function tooLarge(what: string, bytes: number, most: number): ServiceError {
  return new ServiceError('FAILED_PRECONDITION', `The ${what} has ${bytes} bytes; at most ${most} are returned. Capture a smaller part.`);
}
