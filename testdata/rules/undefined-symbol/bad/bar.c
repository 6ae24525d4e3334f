extern int lost_data;
int *address = &lost_data;
int versioned(void);
void lost_function(void);
int bar(void)
{
    lost_function();
    return versioned();
}
