const LINE_HEIGHT = 16;
const TOP = 800;

export interface PdfOptions {
  /** Objects behind those of the pages, and entries of the trailer that refer to them by `{n}`, the number of the first. */
  objects?: readonly string[];
  trailer?: string;
  /** Drawn on each page, behind its lines. */
  drawing?: string;
  /** The annotations of each page. */
  annotations?: readonly string[];
  /** A picture fills each page. */
  hasPicture?: boolean;
  /** The font, with Helvetica as the default. */
  font?: string;
}

/** A PDF with these lines on each page. A line in `<…>` is written as a hexadecimal string. */
export function createPdf(pages: readonly (readonly string[])[], options: PdfOptions = {}): Buffer {
  const { objects: more = [], trailer = '', drawing = '', annotations = [], hasPicture = false } = options;
  const { font = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>' } = options;
  const objects: string[] = ['<< /Type /Catalog /Pages 2 0 R >>', ''];
  const kids: string[] = [];
  for (const lines of pages) {
    const shown = lines.map((line, at) => `1 0 0 1 40 ${TOP - at * LINE_HEIGHT} Tm ${line.startsWith('<') ? line : `(${line})`} Tj`);
    const text = lines.length === 0 ? '' : `BT /F1 10 Tf ${shown.join(' ')} ET`;
    objects.push(toStream('', `${hasPicture ? 'q 500 0 0 700 40 40 cm /I1 Do Q ' : ''}${text} ${drawing}`));
    const contents = objects.length;
    let picture = '';
    if (hasPicture) {
      objects.push(toStream('/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8', 'x'));
      picture = `/XObject << /I1 ${objects.length} 0 R >>`;
    }
    const resources = `<< /Font << /F1 ${font} >> ${picture} >>`;
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents ${contents} 0 R /Resources ${resources} /Annots [${annotations.join(' ')}] >>`,
    );
    kids.push(`${objects.length} 0 R`);
  }
  objects[1] = `<< /Type /Pages /Kids [${kids.join(' ')}] /Count ${kids.length} >>`;
  const first = objects.length + 1;
  return writeFile([...objects, ...more], trailer.replace('{n}', String(first)));
}

function toStream(entries: string, content: string): string {
  return `<< ${entries} /Length ${content.length} >>\nstream\n${content}\nendstream`;
}

function writeFile(objects: readonly string[], trailer: string): Buffer {
  let file = '%PDF-1.7\n';
  const offsets: number[] = [];
  for (const [at, object] of objects.entries()) {
    offsets.push(file.length);
    file += `${at + 1} 0 obj\n${object}\nendobj\n`;
  }
  const size = objects.length + 1;
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const end = `trailer\n<< /Size ${size} /Root 1 0 R ${trailer} >>\nstartxref\n${file.length}\n%%EOF\n`;
  return Buffer.from(`${file}xref\n0 ${size}\n0000000000 65535 f \n${table}${end}`, 'latin1');
}
