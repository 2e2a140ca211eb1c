import { parseBody } from '../request/request-body.ts';

/** Form fields that contain the whole delivery as JSON (GitHub and Slack use `payload`). */
const JSON_FIELD = 'payload';
const FORM_TYPE = /^\s*(?:application\/x-www-form-urlencoded|multipart\/form-data)\s*(?:;|$)/i;
/** A percent sign that does not start an encoded byte. */
const MALFORMED_PERCENT = /%(?![\da-f]{2})/i;

/**
 * Parses the body of a webhook: JSON of any content type, or a form. A form with the field `payload` is the JSON in that field; other forms
 * are objects of their fields, in which a repeated field is a list and a file is its name, type and size in bytes. Fails with the refusal
 * `Invalid JSON body` (HTTP interface, mapped webhook, rule 4).
 */
export async function parsePayload(body: Buffer, contentType = ''): Promise<unknown> {
  if (!FORM_TYPE.test(contentType)) return parseBody(body);
  try {
    return parseBody(body); // curl sends JSON as a form unless it is told otherwise
  } catch (error) {
    const fields = await parseForm(body, contentType);
    if (fields === undefined) throw error;
    const { [JSON_FIELD]: json } = fields;
    return typeof json === 'string' ? parseBody(Buffer.from(json)) : fields;
  }
}

type FormField = string | { name: string; type: string; size: number };

async function parseForm(body: Buffer, contentType: string): Promise<Record<string, FormField | FormField[]> | undefined> {
  const isUrlEncoded = /urlencoded/i.test(contentType);
  // The parser of forms accepts any text as the name of a field.
  if (isUrlEncoded && (!body.includes('=') || MALFORMED_PERCENT.test(body.toString('latin1')))) return undefined;
  try {
    const form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData();
    const fields = [...new Set(form.keys())].map((name) => {
      const values = form.getAll(name).map((value) => (typeof value === 'string' ? value : describeFile(value)));
      return [name, values.length === 1 ? values[0]! : values] as const;
    });
    return fields.length === 0 ? undefined : Object.fromEntries(fields);
  } catch {
    return undefined;
  }
}

function describeFile({ name, type, size }: File): FormField {
  return { name, type, size };
}
