/** The style of every page. */
export const STYLE = `
:root { color-scheme: light dark; background: Canvas; color: CanvasText; font: 1.1rem/1.6 Georgia, serif }
body { max-width: 36rem; margin: 3rem auto; padding: 0 1.2rem }
nav a { margin-right: 1rem }
`
