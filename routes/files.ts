import type { Handler } from '@mayfly/mayfly'
import { renderPage } from './_lib/page.ts'

const FILE = '/assets/field-notes.txt'

export const GET: Handler = (ctx) =>
  renderPage(ctx, 'files', {
    href: '/files',
    description:
      'One folder under /assets. Ask for all of a file, for a part, for two parts, or whether it has changed.',
    sources: ['routes/_site.ts', 'routes/_public/field-notes.txt', 'views/files.dve'],
    data: {
      tries: [
        { href: FILE, why: 'the whole file' },
        { href: FILE, headers: '{"range":"bytes=0-63"}', why: 'the first 64 bytes' },
        { href: FILE, headers: '{"range":"bytes=-64"}', why: 'the last 64' },
        { href: FILE, headers: '{"range":"bytes=0-15,32-47"}', why: 'two ranges' },
        { href: FILE, headers: '{"if-none-match":"$etag"}', why: 'only if it changed' },
        { href: FILE, method: 'HEAD', why: 'headers alone' },
        { href: FILE, headers: '{"range":"bytes=99999-"}', why: 'past the end' },
        { href: '/assets/..%2f..%2fdeno.json', why: 'out of the folder' },
      ],
    },
  })
