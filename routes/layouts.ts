import type { Handler } from '@mayfly/mayfly'
import { renderPage } from './_lib/page.ts'

export const GET: Handler = (ctx) =>
  renderPage(ctx, 'layouts', {
    href: '/layouts',
    description:
      'This page fills two slots of a layout, which fills one of another. All of it is one function by the time it runs.',
    sources: [
      'views/layouts.dve',
      'views/layouts/plate.dve',
      'views/layouts/base.dve',
      'views/partials/specimen.dve',
      'routes/layouts.ts',
    ],
    data: {
      specimens: [
        { name: 'Ephemera danica', flies: 'May to September', tails: 3 },
        { name: 'Baetis rhodani', flies: 'all year', tails: 2 },
        { name: 'Cloeon dipterum', flies: 'May to October', tails: 2 },
      ],
    },
  })
