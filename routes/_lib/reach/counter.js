let count = 33436183

export const next = () => `Hello ${++count} World!`
