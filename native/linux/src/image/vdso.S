# The code of the vDSO: time from the clock page (see clock.rs), without leaving ring 3.
#
# src/vdso.rs holds these bytes; its test assembles this file, where `as` is at hand, and compares. The clock page lies one page below
# the image, this code 0x400 bytes into it. Clock page: +0 monotonic base, +8 realtime base (ns), +16 ticks at the base,
# +24 nanoseconds per tick as 32.32 fixed point, or 0 when the counter must not be used.
.set clock_page, start - 0x400 - 0x1000

start:
clock_gettime:                          # edi = clock, rsi = timespec
    lea     clock_page(%rip), %r8
    mov     24(%r8), %r9
    test    %r9, %r9
    jz      1f
    cmp     $7, %edi
    ja      1f
    mov     (%r8), %r10
    mov     $0xd2, %eax                 # clocks 1, 4, 6, 7: monotonic, raw, coarse, boot time
    bt      %edi, %eax
    jc      2f
    mov     8(%r8), %r10
    mov     $0x21, %eax                 # clocks 0, 5: realtime, coarse
    bt      %edi, %eax
    jnc     1f
2:  call    now
    mov     %rax, (%rsi)
    mov     %rdx, 8(%rsi)
    xor     %eax, %eax
    ret
1:  mov     $228, %eax                  # any other clock: the system call
    syscall
    ret

    .balign 16
gettimeofday:                           # rdi = timeval or 0, rsi = timezone or 0
    lea     clock_page(%rip), %r8
    mov     24(%r8), %r9
    test    %r9, %r9
    jz      1f
    test    %rdi, %rdi
    jz      2f
    mov     8(%r8), %r10
    call    now
    mov     %rax, (%rdi)
    mov     %rdx, %rax
    xor     %edx, %edx
    mov     $1000, %ecx
    div     %rcx
    mov     %rax, 8(%rdi)
2:  test    %rsi, %rsi
    jz      3f
    movq    $0, (%rsi)
3:  xor     %eax, %eax
    ret
1:  mov     $96, %eax
    syscall
    ret

    .balign 16
time:                                   # rdi = time_t or 0
    lea     clock_page(%rip), %r8
    mov     24(%r8), %r9
    test    %r9, %r9
    jz      1f
    mov     8(%r8), %r10
    call    now
    test    %rdi, %rdi
    jz      2f
    mov     %rax, (%rdi)
2:  ret
1:  mov     $201, %eax
    syscall
    ret

    .balign 16
getcpu:                                 # rdi, rsi = unsigned or 0: there is one processor
    xor     %eax, %eax
    test    %rdi, %rdi
    jz      1f
    mov     %eax, (%rdi)
1:  test    %rsi, %rsi
    jz      2f
    mov     %eax, (%rsi)
2:  ret

    .balign 16
now:                                    # r8 = clock page, r9 = scale, r10 = base: rax = seconds, rdx = nanoseconds
    lfence
    rdtsc
    shl     $32, %rdx
    or      %rdx, %rax
    xor     %ecx, %ecx
    sub     16(%r8), %rax
    cmovc   %rcx, %rax
    mul     %r9
    shrd    $32, %rdx, %rax
    add     %r10, %rax
    xor     %edx, %edx
    mov     $1000000000, %ecx
    div     %rcx
    ret
